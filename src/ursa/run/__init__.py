"""The hall: loops, clocks and disks. Body and skills meet here."""
