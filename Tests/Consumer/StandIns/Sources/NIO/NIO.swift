/// What the module of this name calls itself.
public let nameOfNIO = "NIO"
