#!/bin/sh
# A host of boxed tasks in sh: it returns the bytes of a file, until its input ends (docs/boxes.md).
# It reads the id and the first argument, a path without escaped characters, from the text of the request.

rs=$(printf '\036')
while IFS= read -r line; do
    id=${line#*\"id\":\"}
    id=${id%%\"*}
    path=${line#*\"args\":\[\"}
    path=${path%%\"*}
    if [ -r "$path" ]; then
        bytes=$(($(wc -c < "$path")))
        printf '%s{"id":"%s","ok":%s}\n' "$rs" "$id" "$bytes"
    else
        echo "cannot read $path" >&2
        printf '%s{"id":"%s","error":{"type":"NoFile","message":"the file cannot be read","retry":false}}\n' "$rs" "$id"
    fi
done
