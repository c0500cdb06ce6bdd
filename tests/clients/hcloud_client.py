"""The PyPI `hcloud` library works against the sandbox's cloud.

Environment: HCLOUD_ENDPOINT (".../v1") and HCLOUD_TOKEN (read-write), as `sandbox up` prints them.
Exit code 0 if every step held; otherwise an assertion or the library's own exception.
"""

import os
import uuid

from hcloud import APIException, Client
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.server_types import ServerType

client = Client(
    token=os.environ["HCLOUD_TOKEN"],
    api_endpoint=os.environ["HCLOUD_ENDPOINT"],
    application_name="curfew-client-check",
    poll_interval=0.1,
)
run = uuid.uuid4().hex[:12]
selector = f"check=hcloud-client,run in ({run})"
labels = {"check": "hcloud-client", "run": run}


def refusal(call):
    try:
        call()
    except APIException as refused:
        return refused.code
    raise AssertionError("was not refused")


assert {"cpx22"} <= {kind.name for kind in client.server_types.get_all()}
assert client.images.get_by_name_and_architecture("ubuntu-24.04", "x86") is not None
assert client.locations.get_by_name("fsn1").network_zone == "eu-central"
assert client.ssh_keys.get_all()

created = []
for number in range(3):
    answer = client.servers.create(
        name=f"check-{run}-{number}",
        server_type=ServerType(name="cpx22"),
        image=Image(name="ubuntu-24.04"),
        location=Location(name="fsn1"),
        labels=labels,
        user_data="#cloud-config\n",
    )
    answer.action.wait_until_finished()
    for action in answer.next_actions:
        action.wait_until_finished()
    created.append(answer.server)

server = created[0]
server.reload()
assert server.id > 2**31 and server.status == server.STATUS_RUNNING and not server.locked
assert server.labels == labels and server.public_net.ipv4.ip
assert [each.id for each in client.servers.get_all(label_selector=selector)] == [each.id for each in created]
page = client.servers.get_list(label_selector=selector, page=1, per_page=2)
assert len(page.servers) == 2 and page.meta.pagination.next_page == 2
assert client.servers.get_by_name(server.name).id == server.id

assert refusal(lambda: created[1].update(name=server.name)) == "uniqueness_error"
assert server.update(labels={**labels, "changed": "yes"}).labels["changed"] == "yes"

server.change_protection(delete=True, rebuild=True).wait_until_finished()
assert refusal(server.delete) == "protected"
server.change_protection(delete=False, rebuild=False).wait_until_finished()

for each in created:
    each.delete().wait_until_finished()
assert client.servers.get_all(label_selector=selector) == []
assert refusal(lambda: client.servers.get_by_id(server.id)) == "not_found"
print("hcloud client: every step held")
