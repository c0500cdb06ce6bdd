#!/bin/sh
# No Kubernetes of ours: a baked one is let go.

join() { :; }
