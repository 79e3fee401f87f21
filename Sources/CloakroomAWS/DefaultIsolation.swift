/// Where a client runs that was given no actor.
///
/// A client given the service's own actor runs on that actor's executor, and calls between the two never hop.
actor DefaultIsolation {}
