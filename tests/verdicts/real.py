#!/usr/bin/env python3
"""What a real API server says to every row of rows.json: the same that the sandbox's double is held to.

Usage: KUBECONFIG=... tests/verdicts/real.py    (a cluster of its own: it applies deploy/crd.yaml and creates objects)
Exit code 0 if every row is as expected; otherwise 1, with what differs.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
PLURAL = {"CapacityLease": "capacityleases", "ProviderConfig": "providerconfigs"}


def kubectl(*args, sent=None):
    done = subprocess.run(["kubectl", *args], input=sent, text=True, capture_output=True, check=False)
    return None if done.returncode == 0 else done.stderr


def merged(value, patch):
    if not isinstance(patch, dict):
        return patch
    value = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            value.pop(key, None)
        else:
            value[key] = merged(value.get(key), change)
    return value


table = json.loads((HERE / "rows.json").read_text())
assert kubectl("apply", "--server-side", "-f", str(HERE / "../../deploy/crd.yaml")) is None
for plural in PLURAL.values():
    assert kubectl("wait", "--for=condition=Established", f"crd/{plural}.curfew.dev") is None
wrong = 0
for at, row in enumerate(table["rows"]):
    base = table["bases"][row["base"]]
    name, kind = row.get("name", f"row-{at}"), base["kind"]
    spec = merged(base["spec"], row.get("with", {}))
    made = {"apiVersion": "curfew.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    said = kubectl("create", "-f", "-", sent=json.dumps(made))
    if said is None and "then" in row:
        patch = json.dumps({"spec": row["then"]})
        said = kubectl("patch", PLURAL[kind], name, "--type=merge", "-p", patch)
    elif "then" in row:
        said = f"the object that was to be changed: {said}"
    kubectl("delete", PLURAL[kind], name, "--ignore-not-found", "--wait=false")
    expected = row["says"]
    if (said is None) != (expected is None) or (expected and (expected not in said or "to be changed" in said)):
        wrong += 1
        print(f"{json.dumps(row)}\n  says: {said}", file=sys.stderr)
print(f"{len(table['rows'])} rows, {wrong} wrong")
sys.exit(1 if wrong else 0)
