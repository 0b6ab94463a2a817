"""The adapters for logs, metrics and traces that need nothing but the standard library, and their choice by name."""
