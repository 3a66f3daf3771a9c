"""All that is Dynamo's: the bodies that it hands over and takes, its errors, its headers, its socket."""
