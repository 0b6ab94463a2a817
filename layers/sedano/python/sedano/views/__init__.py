"""Views for people: each is a function from the ports to one frozen record, which the renderers only format."""
