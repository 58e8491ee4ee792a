"""Where dream and wanting are joined: state, acting, learning. Read learn.py first."""
