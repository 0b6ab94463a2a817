"""The pages of `sedano web`: the screens of `sedano.views` as HTML and as JSON, on this machine, for one person."""
