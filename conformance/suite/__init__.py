"""The suite: scenarios, traces and logs that are shipped with the package."""
