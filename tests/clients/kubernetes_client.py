"""The PyPI `kubernetes` library against the cluster of $KUBECONFIG: exits non-zero if anything fails."""

import threading
import time

from kubernetes import client, config, watch

KEY = "curfew.dev/check-python"
LEASE = {
    "apiVersion": "curfew.dev/v1alpha1",
    "kind": "CapacityLease",
    "metadata": {"name": "python-check"},
    "spec": {"duration": "1h", "adopt": {"nodeSelector": {"curfew.dev/pool": "nobody-has-this"}}},
}
KIND = ("curfew.dev", "v1alpha1", "capacityleases")


def nodes_are_listed_watched_and_patched(core):
    listed = core.list_node()
    assert listed.items, "there are no nodes"
    name = listed.items[0].metadata.name
    assert core.read_node(name).metadata.uid == listed.items[0].metadata.uid

    def annotate():
        time.sleep(0.3)
        core.patch_node(name, {"metadata": {"annotations": {KEY: "1"}}})

    threading.Thread(target=annotate).start()
    stream = watch.Watch()
    events = stream.stream(
        core.list_node,
        field_selector=f"metadata.name={name}",
        resource_version=listed.metadata.resource_version,
        timeout_seconds=20,
    )
    seen = False
    for event in events:
        if (event["object"].metadata.annotations or {}).get(KEY) == "1":
            seen = event["type"] == "MODIFIED"
            stream.stop()
    assert seen, "the watch did not see the annotation"
    assert KEY not in (core.patch_node(name, {"metadata": {"annotations": {KEY: None}}}).metadata.annotations or {})
    refused(404, core.read_node, "no-such-node")


def leases_are_created_changed_and_deleted(custom):
    made = custom.create_cluster_custom_object(*KIND, LEASE)
    assert made["metadata"]["generation"] == 1
    assert made["spec"]["adopt"]["onRelease"] == "Expire", "the defaults of the definition are missing"
    assert "watchdog" not in made["spec"], "a policy that nobody chose would hide the ProviderConfig's"
    refused(409, custom.create_cluster_custom_object, *KIND, LEASE)
    wrong = {**LEASE, "metadata": {"name": "python-wrong"}, "spec": {"duration": 1}}
    refused(422, custom.create_cluster_custom_object, *KIND, wrong)
    longer = custom.patch_cluster_custom_object(*KIND, "python-check", {"spec": {"duration": "2h"}})
    assert (longer["spec"]["duration"], longer["metadata"]["generation"]) == ("2h", 2)
    refused(409, custom.replace_cluster_custom_object, *KIND, "python-check", made)
    status = {"status": {"phase": "Active"}, "spec": {"duration": "9h"}}
    after = custom.patch_cluster_custom_object_status(*KIND, "python-check", status)
    assert after["status"]["phase"] == "Active" and after["spec"]["duration"] == "2h"
    assert "python-check" in [o["metadata"]["name"] for o in custom.list_cluster_custom_object(*KIND)["items"]]
    custom.delete_cluster_custom_object(*KIND, "python-check")
    refused(404, custom.get_cluster_custom_object, *KIND, "python-check")


def refused(code, call, *arguments):
    try:
        call(*arguments)
    except client.ApiException as error:
        assert error.status == code, f"expected {code}, got {error.status}: {error.body}"
    else:
        raise AssertionError(f"expected {code} from {call.__name__}{arguments}")


config.load_kube_config()
assert client.VersionApi().get_code().git_version
nodes_are_listed_watched_and_patched(client.CoreV1Api())
leases_are_created_changed_and_deleted(client.CustomObjectsApi())
print("kubernetes (Python): all of it works")
