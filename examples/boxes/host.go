// A host of boxed tasks for Go: it answers one request on each line, until its input ends (docs/boxes.md). Build it: go build -o host host.go
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

func words(args []any) any {
	text, isText := args[0].(string)
	if !isText {
		panic("words takes a text")
	}
	return len(strings.Fields(text))
}

func answered(args []any) (answer map[string]any) {
	defer func() {
		if wrong := recover(); wrong != nil {
			_, isOwn := wrong.(string)
			answer = map[string]any{"error": map[string]any{
				"type": "Panic", "message": fmt.Sprint(wrong), "traceback": string(debug.Stack()), "retry": !isOwn}}
		}
	}()
	return map[string]any{"ok": words(args)}
}

func main() {
	replies, requests := os.Stdout, json.NewDecoder(os.Stdin)
	os.Stdout = os.Stderr // the output of this program and its libraries goes to the log
	for request := (map[string]any{}); requests.Decode(&request) == nil; {
		answer := answered(request["args"].([]any))
		answer["id"] = request["id"]
		line, _ := json.Marshal(answer)
		fmt.Fprintf(replies, "\x1e%s\n", line)
	}
}
