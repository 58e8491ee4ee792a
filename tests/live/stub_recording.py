"""The real recorder, in more of a hurry: a test should not wait half a second for every commit."""

from ursa.live import child, recording
from ursa.log import store

store.PATIENCE = 0.05
main = recording.main

if __name__ == "__main__":
    child.enter(main)
