"""Least privilege: what a container may do, and what its image holds that it should not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from stand.stack import SERVICES, Project, Service

if TYPE_CHECKING:
    from collections.abc import Callable

# Files that carry a secret by their name, and settings that carry one by their content.
SECRET_NAMES = (
    *("id_rsa", "id_ed25519", "id_ecdsa", ".netrc", ".git-credentials", ".pypirc", "credentials.json", "ca.crt"),
    *(".env", ".npmrc", "*.pfx", "*.p12", "*.kdbx", "pip.conf", ".pip"),
)
SECRET_CONTENT = (
    r"BEGIN ([A-Z]+ )?PRIVATE KEY|(hf|ghp|gho|glpat|sk|xoxb)[-_][A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16}|://[^/ :@]+:[^/ :@]+@"
)
# Not the image's, or not a place where a build leaves something; packages of the index are public.
PUBLIC = ("/proc", "/sys", "/dev", "/opt/*/lib/python3.11/site-packages", "/usr/lib", "/usr/share", "/models", "/tmp")
ZERO = r"'\0'"
SECRET_ENVIRONMENT = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "PIP_INDEX_URL", "PIP_CERT")


@pytest.fixture(params=SERVICES)
def service(project: Project, request: pytest.FixtureRequest) -> Service:
    return project.service(request.param)


def host_config(service: Service) -> dict[str, Any]:
    config: dict[str, Any] = service.container.attrs["HostConfig"]
    return config


def test_no_process_runs_as_root(service: Service) -> None:
    assert not service.users & {"root", "0"}


def test_it_can_gain_no_privilege(service: Service) -> None:
    config = host_config(service)
    assert config["CapDrop"] == ["ALL"]
    assert not config["CapAdd"]
    assert not config["Privileged"]
    assert "no-new-privileges:true" in config["SecurityOpt"]


def test_its_file_system_is_read_only(service: Service) -> None:
    if host_config(service)["Runtime"] == "nvidia":
        pytest.skip("not run: a GPU engine compiles kernels, and its file system can be written")
    assert host_config(service)["ReadonlyRootfs"]
    assert service.run("sh", "-c", "echo x > /home/dynamo/x || echo x > /var/tmp/x").exit_code != 0


def test_its_ports_are_those_of_this_machine(service: Service) -> None:
    bound = [binding["HostIp"] for bindings in host_config(service)["PortBindings"].values() for binding in bindings]
    assert set(bound) <= {"127.0.0.1"}


def test_it_mounts_only_volumes_of_the_stack(service: Service) -> None:
    """No socket of Docker's, no folder of this machine."""
    mounts = [(mount["Type"], mount.get("Name", mount["Source"])) for mount in service.container.attrs["Mounts"]]
    assert all(kind == "volume" and name.startswith("sglang-parity_") for kind, name in mounts), mounts


@pytest.mark.parametrize("name", ["frontend", "worker"])
def test_no_secret_is_in_the_image(project: Project, name: str, record_property: Callable[[str, object], None]) -> None:
    """Neither in its environment nor in the commands that made it nor in its files."""
    service = project.service(name)
    image = service.container.client.images.get(service.image_id)
    variables = [variable.partition("=")[0] for variable in image.attrs["Config"]["Env"]]
    assert not [name for name in variables if any(word in name for word in SECRET_ENVIRONMENT)]
    history = json.dumps(image.history())
    assert "PRIVATE KEY" not in history
    assert not [word for word in ("password=", "token=", "--password", "Authorization") if word in history]

    names = " -o ".join(f"-name '{each}'" for each in SECRET_NAMES)
    prune = " -o ".join(f"-path '{path}'" for path in PUBLIC)
    files = rf"find / \( {prune} \) -prune -o -type f -size -256k -print0"
    by_name = said_in(service, rf"find / \( {prune} \) -prune -o -type f \( {names} \) -print")
    assert by_name.split() == []
    by_content = said_in(service, f"{files} | xargs -0 grep -IlE '{SECRET_CONTENT}' || true")
    assert by_content.split() == []
    record_property("note", f"{said_in(service, f'{files} | tr -cd {ZERO} | wc -c').strip()} files")


def said_in(service: Service, script: str) -> str:
    """What a script says in a new container of the image, as root: the user of the service cannot read all of it."""
    output: bytes = service.container.client.containers.run(
        service.image_id, ["-c", script], entrypoint="sh", user="0", network_mode="none", remove=True
    )
    return output.decode()
