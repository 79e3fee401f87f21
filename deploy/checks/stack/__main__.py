"""Checks of deploy/cloudformation and deploy/terraform; deploy/checks/aws says which. Each says what is wrong, exit 1."""

import json
import pathlib
import re
import sys

import documents
import samples
import stack
from template import Template

DEPLOY = pathlib.Path(__file__).parents[2]
TEMPLATE = DEPLOY / "cloudformation" / "cloakroom.yaml"

# Where each file of deploy/iam has come to, in either.
PLACES = {
    "worker-policy": "role cloakroom-worker cloakroom-worker",
    "session-role-policy": "role cloakroom-app users-folders",
    "lifecycle-policy": "policy cloakroom-lifecycle",
    "cors-policy": "policy cloakroom-cors",
    "doctor-policy": "role cloakroom-worker cloakroom-doctor",
    "revoker-policy": "policy cloakroom-revoker",
    "validate-policy": "policy cloakroom-validate",
    "sharing-policy": "role cloakroom-app shared-folders",
    "kms-policy": "role cloakroom-app cloakroom-kms",
    "deny-user": "role cloakroom-app deny-users",
    "deny-older-sessions": "role cloakroom-app deny-older-sessions",
}


def differences(expected, actual):
    """Sentences, one for each key that is not alike."""
    return [
        f"{key}:\n  expected {json.dumps(expected.get(key), sort_keys=True)}\n"
        f"  but got  {json.dumps(actual.get(key), sort_keys=True)}"
        for key in sorted(set(expected) | set(actual)) if expected.get(key) != actual.get(key)]


def policies():
    """CloudFormation's policies are those of deploy/iam, and each file there has come to a place."""
    faults, seen = [], set()
    for run in samples.RUNS:
        words, found = samples.words(run), stack.from_cloudformation(Template(TEMPLATE, **samples.RUNS[run]))
        expected = {place: documents.policy(name, words) for name, place in PLACES.items() if place in found}
        seen |= {name for name, place in PLACES.items() if place in found}
        if samples.RUNS[run].get("RenewsUsersFolders") == "true":
            statements = expected["role cloakroom-worker cloakroom-worker"]["Statement"]
            statements[:] = [statement for statement in statements if statement["Sid"] != "NeverUsersFolders"]
        if "role cloakroom-worker cloakroom-release" in found:
            name = "release-tag-policy" if samples.RUNS[run].get("ReleaseMode") == "tag" else "release-policy"
            expected["role cloakroom-worker cloakroom-release"] = documents.policy(name, words)
            seen.add(name)
        worker = found.get("role cloakroom-worker")
        if worker:
            trust = "worker-trust-irsa" if run == "irsa" else "worker-trust-service"
            expected["role cloakroom-worker"] = [3600, documents.policy(trust, words)]
            seen.add(trust)
        session_trust = f"session-role-trust{'-sharing' if samples.RUNS[run].get('Sharing') else ''}"
        expected["role cloakroom-app"] = [3600, documents.policy(session_trust, words)]
        bucket = documents.policy("bucket-policy", words)
        if "distribution" in found:
            bucket["Statement"] += documents.policy("bucket-policy-cdn", words)["Statement"]
            seen.add("bucket-policy-cdn")
            if words["CHAT_PREFIX"]:
                bucket["Statement"] += documents.policy("bucket-policy-cdn-chats", words)["Statement"]
                seen.add("bucket-policy-cdn-chats")
        expected[f"bucket {words['BUCKET']} policy"] = bucket
        seen |= {session_trust, "bucket-policy"}
        faults += [f"{run}: {fault}" for fault in differences(expected, {key: found.get(key) for key in expected})]
    unseen = {path.stem for path in documents.FOLDER.glob("*.json")} - seen
    return faults + [f"{name}.json has come to no place" for name in sorted(unseen)]


def refusals():
    """CloudFormation takes no lifecycle prefix that meets users' folders, and none without any upload; nor does Terraform."""
    faults, tests = [], (DEPLOY / "terraform" / "tests" / "module.tftest.hcl").read_text(encoding="utf-8")
    for run, prefixes in samples.REFUSED.items():
        if f'run "{run}"' not in tests:
            faults.append(f"Terraform's tests have no run {run}")
        for prefix in prefixes:
            try:
                Template(TEMPLATE, **samples.PLAIN | {"LifecyclePrefix": prefix})
                faults.append(f"LifecyclePrefix={prefix} is taken")
            except AssertionError as error:
                if "LifecyclePrefix" not in str(error):
                    faults.append(f"LifecyclePrefix={prefix} is refused for another reason: {error}")
    for prefix in samples.TAKEN:
        Template(TEMPLATE, **samples.PLAIN | {"LifecyclePrefix": prefix})
    run = "refuses_uploads_that_never_expire"
    if f'run "{run}"' not in tests:
        faults.append(f"Terraform's tests have no run {run}")
    try:
        Template(TEMPLATE, **samples.PLAIN | {"KeyPrefix": ""})
        faults.append("an empty KeyPrefix is taken beside a LifecyclePrefix")
    except AssertionError as error:
        if "KeyPrefix" not in str(error):
            faults.append(f"an empty KeyPrefix is refused for another reason: {error}")
    return faults


def hcl():
    """Terraform's files can be read by another parser, write no policy anew, and are told of in their README."""
    import hcl2

    faults = []
    for path in sorted((DEPLOY / "terraform").rglob("*.hcl")) + sorted((DEPLOY / "terraform").glob("*.tf")):
        with open(path, encoding="utf-8") as file:
            hcl2.load(file)
    text = "".join(path.read_text(encoding="utf-8") for path in (DEPLOY / "terraform").glob("*.tf"))
    for path in documents.FOLDER.glob("*.json"):
        if f'"{path.name}"' not in text:
            faults.append(f"{path.name} is not used")
    readme = (DEPLOY / "terraform" / "README.md").read_text(encoding="utf-8")
    for kind, name in re.findall(r'^(variable|output) "(\w+)"', text, re.MULTILINE):
        if f"`{name}`" not in readme:
            faults.append(f"the {kind} {name} is not in the README")
    if re.search(r'"(s3|sts|kms|iam):[A-Z*]', text):
        faults.append("an action is named outside deploy/iam")
    return faults


def states(messages, file):
    """Keeps of what `terraform test -json -verbose` said the states of its runs, by name, without the provider's schemas."""
    found = {}
    with open(messages, encoding="utf-8") as lines:
        for line in lines:
            if '"type":"test_state"' in line:
                message = json.loads(line)
                found[message["@testrun"]] = {key: message["test_state"][key] for key in ("root_module", "outputs")}
    pathlib.Path(file).write_text(json.dumps(found), encoding="utf-8")
    return [f"{run} left no state" for run in samples.RUNS if run not in found]


def read(file):
    return json.loads(pathlib.Path(file).read_text(encoding="utf-8"))


def agree(file):
    """Terraform and CloudFormation come to the same, in every run; so do their settings."""
    faults, runs = [], read(file)
    for run, parameters in samples.RUNS.items():
        template = Template(TEMPLATE, **parameters)
        expected, actual = stack.from_cloudformation(template), stack.from_terraform(runs[run])
        expected["settings"] = json.loads(template.output("Settings"))
        actual["settings"] = json.loads(runs[run]["outputs"]["settings"]["value"])
        # What the sample adds for Terraform alone: it can put keys into sections that it makes, CloudFormation cannot.
        actual["settings"]["vending"].pop("defaultTier", None)
        faults += [f"{run}: {fault}" for fault in differences(expected, actual)]
    return faults


def settings(run, file=None):
    """The settings of one run, to standard output: CloudFormation's, or with a file of states Terraform's."""
    print(read(file)[run]["outputs"]["settings"]["value"] if file
          else Template(TEMPLATE, **samples.RUNS[run]).output("Settings"))
    return []


if __name__ == "__main__":
    faults = {
        "policies": policies, "refusals": refusals, "hcl": hcl, "states": states, "agree": agree, "settings": settings,
    }[sys.argv[1]](*sys.argv[2:])
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)
