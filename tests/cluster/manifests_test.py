"""The manifests of deploy/kubernetes against the schema of Kubernetes, as its official Python client has it (Debian's
python3-kubernetes, generated from the OpenAPI description of the API), and against each other. Unknown fields are errors.

usage: manifests_test.py [unittest arguments]
"""
import os
import re
import unittest

try:
    import yaml
    from kubernetes import client
except ImportError as missing:
    raise SystemExit(f"manifests_test.py: {missing}: install python3-kubernetes")

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
KINDS = {("batch/v1", "Job"): "V1Job", ("v1", "Service"): "V1Service"}
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float)}


def complaints(value, kind, path):
    """What is wrong with a value that should be of this kind, in the words of the client's own tables."""
    if kind == "object":
        return
    if found := re.fullmatch(r"list\[(.*)\]", kind):
        if not isinstance(value, list):
            yield f"{path}: a list is wanted, not {value!r}"
            return
        for number, item in enumerate(value):
            yield from complaints(item, found[1], f"{path}[{number}]")
    elif found := re.fullmatch(r"dict\(str, (.*)\)", kind):
        if not isinstance(value, dict):
            yield f"{path}: a table is wanted, not {value!r}"
            return
        for name, item in value.items():
            yield from complaints(item, found[1], f"{path}.{name}")
    elif kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or (kind == "int" and isinstance(value, bool)):
            yield f"{path}: {kind} is wanted, not {value!r}"
    else:
        yield from complaints_of_model(value, getattr(client, kind), path)


def complaints_of_model(value, model, path):
    if not isinstance(value, dict):
        yield f"{path}: a {model.__name__} is wanted, not {value!r}"
        return
    fields = {name: attribute for attribute, name in model.attribute_map.items()}
    for name, item in value.items():
        if name not in fields:
            yield f"{path}: there is no field {name} in {model.__name__}"
        else:
            yield from complaints(item, model.openapi_types[fields[name]], f"{path}.{name}")
    try:  # what is required, and which values there are
        model(**{fields[name]: item for name, item in value.items() if name in fields})
    except ValueError as problem:
        yield f"{path}: {problem}"


def load(name):
    with open(os.path.join(ROOT, "deploy", "kubernetes", name)) as file:
        return yaml.safe_load(file)


class ManifestsTest(unittest.TestCase):
    def test_every_manifest_fits_its_schema(self):
        names = os.listdir(os.path.join(ROOT, "deploy", "kubernetes"))
        self.assertEqual(sorted(names), ["job.yaml", "service.yaml"])
        for name in names:
            manifest = load(name)
            model = KINDS[manifest["apiVersion"], manifest["kind"]]
            self.assertEqual(list(complaints(manifest, model, name)), [])

    def test_the_check_can_fail(self):
        job = load("job.yaml")
        for break_it, words in ((lambda: job["spec"].update(completion=4), "no field completion"),
                                (lambda: job["spec"].update(completions="4"), "int is wanted"),
                                (lambda: job["spec"]["template"]["spec"]["containers"][0].pop("name"), "`name`"),
                                (lambda: job["spec"].pop("template"), "`template`")):
            break_it()
            self.assertIn(words, "\n".join(complaints(job, "V1Job", "job")))

    def test_they_go_together(self):
        job, service = load("job.yaml"), load("service.yaml")
        spec, pod = job["spec"], job["spec"]["template"]["spec"]
        main, = pod["containers"]
        variables = {each["name"]: each["value"] for each in main["env"]}
        self.assertEqual(spec["completionMode"], "Indexed")
        self.assertEqual(spec["parallelism"], spec["completions"])
        self.assertEqual(variables["YOKE_RANKS"], str(spec["completions"]))
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertTrue(service["spec"]["publishNotReadyAddresses"])
        self.assertEqual(service["spec"]["selector"], {"job-name": job["metadata"]["name"]})
        self.assertEqual(pod["subdomain"], service["metadata"]["name"])
        port = service["spec"]["ports"][0]["port"]
        self.assertEqual(variables["YOKE_FIRST"], f"{job['metadata']['name']}-0.{pod['subdomain']}:{port}")
        volumes = {volume["name"] for volume in pod["volumes"]}
        mounts = {mount["name"]: mount["mountPath"] for mount in main["volumeMounts"]}
        self.assertLessEqual(set(mounts), volumes)
        self.assertEqual(variables["YOKE_SECRET_FILE"], mounts["keys"] + "/secret")
        self.assertEqual(variables["YOKE_CERTS"], mounts["keys"])
        with open(os.path.join(ROOT, "docs", "clusters.md")) as file:
            page = file.read()
        self.assertIn(f"yoke cert new yoke-job {variables['YOKE_PEER_NAME']}", page)
        self.assertIn(f"kubectl create secret generic {pod['volumes'][0]['secret']['secretName']} ", page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
