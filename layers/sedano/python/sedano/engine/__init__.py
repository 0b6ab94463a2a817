"""The engine: one file per component of the CEP, in blocking Python over the model and the ports."""
