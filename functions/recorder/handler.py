"""The recorder: a batch of packed worker events in; they become objects of the history bucket."""

from sedano.bootstrap import recorder

handler = recorder()
