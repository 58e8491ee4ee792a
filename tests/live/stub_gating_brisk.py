"""A gate that notices a hung supervisor after two seconds, also in virtual time."""

from ursa.live import child, gating, lead

if __name__ == "__main__":
    lead.HANGS = dict.fromkeys(lead.HANGS, 2.0)
    child.enter(gating.main)
