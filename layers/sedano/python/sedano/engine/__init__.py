"""The steps: one file per component of the CEP, in plain blocking Python over the model and the ports."""
