"""What a person looks at: each screen is a function of the ports to one frozen record, which every renderer only renders."""
