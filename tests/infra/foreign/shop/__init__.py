"""An application that is a package and is named as one: its directory is `code`."""
