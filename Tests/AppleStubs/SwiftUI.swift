// What the articles use of Apple's SwiftUI, as its documentation declares it. Never run: for the type checker alone.
//
// What returns `some View` there does so here; a modifier that is the same for every view is declared once.
@_exported import Combine
@_exported import UIKit
import AppleFoundation

@MainActor @preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { return never() }
}

@resultBuilder
public struct ViewBuilder {
    public static func buildBlock() -> EmptyView { never() }
    public static func buildBlock<each Content: View>(
        _ content: repeat each Content
    ) -> TupleView<(repeat each Content)> { never() }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { never() }
    public static func buildEither<First: View, Second: View>(first: First) -> Either<First, Second> { never() }
    public static func buildEither<First: View, Second: View>(second: Second) -> Either<First, Second> { never() }
}

/// A view without a body of its own.
public protocol Leaf: View where Body == Never {}
extension Leaf {
    public var body: Never { return never() }
}

public struct EmptyView: Leaf {
    public init() {}
}
public struct TupleView<Contents>: Leaf {}
public struct Either<First: View, Second: View>: Leaf {}
extension Optional: View where Wrapped: View {
    public var body: Never { return never() }
}

public struct Text: Leaf {
    public init<S: StringProtocol>(_ content: S) { never() }
}

public struct Image: Leaf {
    public init(systemName: String) { never() }
    public init(uiImage: UIImage) { never() }
    public func resizable() -> Image { never() }
}

public struct Color: Leaf {
    public static var gray: Color { never() }
    public func opacity(_ opacity: Double) -> Color { never() }
}

public struct Button<Label: View>: Leaf {
    public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) { never() }
}
extension Button where Label == Text {
    public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) { never() }
    public init<S: StringProtocol>(_ title: S, role: ButtonRole?, action: @escaping @MainActor () -> Void) { never() }
}
public struct ButtonRole: Sendable {
    public static let destructive = ButtonRole()
    public static let cancel = ButtonRole()
}

public struct ProgressView: Leaf {
    public init() { never() }
    public init<V: BinaryFloatingPoint>(value: V?, total: V = 1.0) { never() }
}

public struct ScrollView<Content: View>: Leaf {
    public init(@ViewBuilder content: () -> Content) { never() }
}
public struct Form<Content: View>: Leaf {
    public init(@ViewBuilder content: () -> Content) { never() }
}
public struct Section<Content: View>: Leaf {
    public init(@ViewBuilder content: () -> Content) { never() }
    public init<S: StringProtocol>(_ title: S, @ViewBuilder content: () -> Content) { never() }
}
public struct VStack<Content: View>: Leaf {
    public init(
        alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) { never() }
}
public struct HStack<Content: View>: Leaf {
    public init(spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) { never() }
}
public struct ZStack<Content: View>: Leaf {
    public init(alignment: Alignment = .center, @ViewBuilder content: () -> Content) { never() }
}
public struct TabView<Content: View>: Leaf {
    public init(@ViewBuilder content: () -> Content) { never() }
}
public struct LazyVGrid<Content: View>: Leaf {
    public init(columns: [GridItem], spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) { never() }
}
public struct GridItem: Sendable {
    public enum Size: Sendable { case adaptive(minimum: CGFloat, maximum: CGFloat = .infinity) }
    public init(_ size: Size, spacing: CGFloat? = nil) { never() }
}
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content: View>: Leaf {
    public init(_ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content)
    {
        never()
    }
}
extension ForEach where Data.Element: Identifiable, ID == Data.Element.ID {
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) { never() }
}
public struct Picker<Selection: Hashable, Content: View>: Leaf {
    public init<S: StringProtocol>(
        _ title: S, selection: Binding<Selection>, @ViewBuilder content: () -> Content
    ) { never() }
}

public enum HorizontalAlignment: Sendable { case leading, center, trailing }
public struct Alignment: Sendable {
    public static let center = Alignment()
    public static let bottom = Alignment()
    public static let bottomTrailing = Alignment()
}
public enum ContentMode: Sendable { case fit, fill }

@propertyWrapper
public struct Binding<Value> {
    public init(
        get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value) -> Void
    ) { never() }
    public var wrappedValue: Value {
        get { never() }
        nonmutating set { never() }
    }
}

@propertyWrapper
public struct State<Value> {
    public init(wrappedValue: Value) { never() }
    public var wrappedValue: Value {
        get { never() }
        nonmutating set { never() }
    }
    public var projectedValue: Binding<Value> { never() }
}

@MainActor @preconcurrency @propertyWrapper
public struct StateObject<ObjectType: ObservableObject> {
    public nonisolated init(wrappedValue thunk: @autoclosure @escaping () -> ObjectType) { never() }
    public var wrappedValue: ObjectType { never() }
}

extension View {
    public func task(_ action: @escaping @isolated(any) @Sendable () async -> Void) -> some View { self }
    public func task<Value: Equatable>(
        id: Value, _ action: @escaping @isolated(any) @Sendable () async -> Void
    ) -> some View { self }
    public func refreshable(action: @escaping @isolated(any) @Sendable () async -> Void) -> some View { self }
    public func onDisappear(perform action: @escaping @MainActor () -> Void) -> some View { self }
    public func sheet<Item: Identifiable, Content: View>(
        item: Binding<Item?>, @ViewBuilder content: @escaping (Item) -> Content
    ) -> some View { self }
    public func overlay<V: View>(alignment: Alignment = .center, @ViewBuilder content: () -> V) -> some View { self }
    public func accessibilityLabel<S: StringProtocol>(_ label: S) -> some View { self }
    public func accessibilityValue<S: StringProtocol>(_ value: S) -> some View { self }
    public func accessibilityHint<S: StringProtocol>(_ hint: S) -> some View { self }
    public func accessibilityHidden(_ hidden: Bool) -> some View { self }
    public func aspectRatio(_ ratio: CGFloat? = nil, contentMode: ContentMode) -> some View { self }
    public func padding() -> some View { self }
    public func clipped() -> some View { self }
    public func disabled(_ disabled: Bool) -> some View { self }
    public func pickerStyle(_ style: InlinePickerStyle) -> some View { self }
    public func tag<V: Hashable>(_ tag: V) -> some View { self }
    public func scaledToFit() -> some View { self }
}

// MARK: The app

@MainActor @preconcurrency
public protocol Scene {
    associatedtype Body: Scene
    var body: Body { get }
}
extension Never: Scene {}

public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) { never() }
    public var body: Never { return never() }
}

@MainActor @preconcurrency
public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}
extension App {
    public static func main() { never() }
}

extension Scene {
    public func onChange<V: Equatable>(of value: V, perform action: @escaping (V) -> Void) -> some Scene { self }
}

public enum ScenePhase: Comparable, Sendable { case background, inactive, active }

public struct EnvironmentValues {
    public var scenePhase: ScenePhase { never() }
}

@propertyWrapper
public struct Environment<Value> {
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { never() }
    public var wrappedValue: Value { never() }
}

@MainActor @preconcurrency @propertyWrapper
public struct UIApplicationDelegateAdaptor<DelegateType: NSObject & UIApplicationDelegate> {
    public init(_ delegateType: DelegateType.Type = DelegateType.self) { never() }
    public var wrappedValue: DelegateType { never() }
}

public struct InlinePickerStyle {}
extension InlinePickerStyle {
    public static var inline: InlinePickerStyle { never() }
}

private func never() -> Never { preconditionFailure("a stub") }
