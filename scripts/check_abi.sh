#!/bin/sh
# Holds libtare.so against the list of what programs were compiled with, src/c/abi.txt: check_abi.sh LIBRARY [--write].
# Lines may be added; one that goes away or changes needs another TARE_C_VERSION.
set -eu
library=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every structure of the header with its size, and where its members are.
python3 - include/tare/c.h >"$work/probe.c" <<'PYTHON'
import re
import sys

text = re.sub(r"/\*.*?\*/", "", open(sys.argv[1]).read(), flags=re.DOTALL)
print('#include <stddef.h>\n#include <stdio.h>\n#include "tare/c.h"\nint main(void) {')
print('  printf("version %d\\n", TARE_C_VERSION);')
for name, body in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.DOTALL):
    name, body = body, name
    print(f'  printf("struct {name} %zu\\n", sizeof({name}));')
    for member in body.split(";"):
        found = re.search(r"\(\*(\w+)\)|(\w+)\s*$", member.strip())
        if found:
            field = found[1] or found[2]
            print(f'  printf("struct {name}.{field} %zu\\n", offsetof({name}, {field}));')
for constant in re.findall(r"^\s*(TARE_[A-Z0-9_]+) = ", text, re.MULTILINE):
    print(f'  printf("constant {constant} %d\\n", {constant});')
print("  return 0;\n}")
PYTHON
cc -std=c11 -Wall -Werror -Iinclude "$work/probe.c" -o "$work/probe"
{
  "$work/probe"
  nm -D --defined-only "$library" | awk '{ print "function " $3 }' | sort
} >"$work/found"

if [ "${2:-}" = --write ]; then
  cp "$work/found" src/c/abi.txt
fi
if grep -v '^function tare_' "$work/found" | grep '^function'; then
  echo "the library exports what is not of its interface" >&2
  exit 1
fi
if ! gone=$(grep -vxFf "$work/found" src/c/abi.txt); then
  new=$(grep -cvxFf src/c/abi.txt "$work/found" || true)
  echo "$(wc -l <src/c/abi.txt) lines as before, $new new"
  exit 0
fi
if grep -q '^version' <<EOF
$gone
EOF
then
  echo "TARE_C_VERSION is another: give --write, and the library another number (src/c/CMakeLists.txt)" >&2
else
  echo "programs that were compiled before would break; set another TARE_C_VERSION" >&2
fi
echo "$gone" >&2
exit 1
