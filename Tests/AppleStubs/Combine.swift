// What the sources use of Apple's Combine, as its documentation declares it. Never run: for the type checker alone.
public final class ObservableObjectPublisher {
    public init() {}
}

public protocol ObservableObject: AnyObject {
    associatedtype ObjectWillChangePublisher = ObservableObjectPublisher
    var objectWillChange: ObjectWillChangePublisher { get }
}

extension ObservableObject where ObjectWillChangePublisher == ObservableObjectPublisher {
    public var objectWillChange: ObservableObjectPublisher { never() }
}

@propertyWrapper
public struct Published<Value> {
    public struct Publisher {}

    public init(wrappedValue: Value) { never() }
    public init(initialValue: Value) { never() }

    public var projectedValue: Publisher {
        mutating get { never() }
        set { never() }
    }

    @available(*, unavailable, message: "@Published is only available on properties of classes")
    public var wrappedValue: Value {
        get { never() }
        set { never() }
    }

    public static subscript<EnclosingSelf: AnyObject>(
        _enclosingInstance object: EnclosingSelf,
        wrapped wrappedKeyPath: ReferenceWritableKeyPath<EnclosingSelf, Value>,
        storage storageKeyPath: ReferenceWritableKeyPath<EnclosingSelf, Published<Value>>
    ) -> Value {
        get { never() }
        set { never() }
    }
}

private func never() -> Never { preconditionFailure("a stub") }
