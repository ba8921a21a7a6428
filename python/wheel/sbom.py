"""Prints the list of what is in the wheel and the tarball, as SPDX 2.3.

usage: sbom.py LIST VERSION DATE    LIST: the README.txt among the licences, with a line for each bundled library
"""
import json
import re
import sys


def package(name, version, files, licence="NOASSERTION"):
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            **({"comment": "as " + ", ".join(files)} if files else {})}


def main(listing, version, date):
    bundled = {}
    for file, name, release in re.findall(r"^(\S+): (\S+) (\S+)$", open(listing, encoding="utf-8").read(), re.MULTILINE):
        bundled.setdefault((name, release), []).append(file)
    packages = [package("tare", version, (), "Apache-2.0")]
    packages += [package(name, release, files) for (name, release), files in sorted(bundled.items())]
    relations = [{"spdxElementId": packages[0]["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": other["SPDXID"]}
                 for other in packages[1:]]
    print(json.dumps({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
                      "name": f"tare-{version}", "documentNamespace": f"urn:tare:{version}",
                      "creationInfo": {"created": date, "creators": ["Tool: scripts/release.sh"]},
                      "packages": packages,
                      "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                                         "relatedSpdxElement": packages[0]["SPDXID"]}, *relations]}, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
