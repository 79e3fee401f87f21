// Prints each place of Swift files that can be mutated, a JSON object a line: sites FILE…
import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

/// One mutant: what to replace in the file, in bytes; in the new text `@` stands for its number.
struct Site: Encodable {
    struct Edit: Encodable {
        var start: Int
        var end: Int
        var text: String
    }
    var file: String
    var line: Int
    var kind: String
    /// The first line of what it mutates, and what that becomes.
    var was: String
    var became: String
    var source: String
    var edits: [Edit]
}

final class Finder: SyntaxVisitor {
    private let file: String
    private let lines: [Substring]
    private let locations: SourceLocationConverter
    private(set) var sites: [Site] = []

    /// What says no more than that the program itself is wrong.
    private static let assertions: Set = [
        "precondition", "preconditionFailure", "assert", "assertionFailure", "fatalError", "preconditionIsCurrent",
    ]
    private static let opposites = [
        "==": "!=", "!=": "==", "===": "!==", "!==": "===", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    ]
    private static let bounds = ["<": "<=", "<=": "<", ">": ">=", ">=": ">"]

    init(file: String, text: String, tree: SourceFileSyntax) {
        self.file = file
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        locations = SourceLocationConverter(fileName: file, tree: tree)
        super.init(viewMode: .sourceAccurate)
    }

    private func text(_ node: some SyntaxProtocol) -> String { node.trimmedDescription }

    private func add(
        _ kind: String, _ node: some SyntaxProtocol, was: String, became: String, _ edits: [(Syntax, String)]
    ) {
        let line = node.startLocation(converter: locations, afterLeadingTrivia: true).line
        func short(_ text: String) -> String { text.split(separator: "\n").first.map(String.init) ?? "" }
        sites.append(
            Site(
                file: file, line: line, kind: kind, was: short(was), became: short(became),
                source: lines[line - 1].trimmingCharacters(in: .whitespaces),
                edits: edits.map {
                    Site.Edit(
                        start: $0.positionAfterSkippingLeadingTrivia.utf8Offset,
                        end: $0.endPositionBeforeTrailingTrivia.utf8Offset, text: $1)
                }))
    }

    /// `mutated` when the mutant is on, in place of an expression.
    private func exchange(_ kind: String, _ node: some SyntaxProtocol, by mutated: String) {
        add(
            kind, node, was: text(node), became: mutated,
            [(Syntax(node), "(Mutant.isOn(@) ? (\(mutated)) : (\(text(node))))")])
    }

    private func negate(_ kind: String, _ node: some SyntaxProtocol, became: String) {
        add(kind, node, was: text(node), became: became, [(Syntax(node), "((\(text(node))) != Mutant.isOn(@))")])
    }

    /// `try` and `await` stay outside of what is exchanged.
    private func inner(_ expression: ExprSyntax) -> ExprSyntax {
        if let attempt = expression.as(TryExprSyntax.self), attempt.questionOrExclamationMark == nil {
            return inner(attempt.expression)
        }
        return expression.as(AwaitExprSyntax.self).map { inner($0.expression) } ?? expression
    }

    // MARK: - Expressions

    override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        guard let symbol = node.operator.as(BinaryOperatorExprSyntax.self)?.operator.text else { return .visitChildren }
        let (left, right) = (text(node.leftOperand), text(node.rightOperand))
        if let opposite = Self.opposites[symbol] { negate("comparison", node, became: "\(left) \(opposite) \(right)") }
        if let bound = Self.bounds[symbol] { exchange("bound", node, by: "\(left) \(bound) \(right)") }
        if symbol == "&&" { exchange("logic", node, by: "(\(left)) || (\(right))") }
        if symbol == "||" { exchange("logic", node, by: "(\(left)) && (\(right))") }
        return .visitChildren
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        let name =
            node.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text
            ?? node.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? ""
        if Self.assertions.contains(name) { return .skipChildren }
        if node.calledExpression.is(DeclReferenceExprSyntax.self), name == "min" || name == "max",
            node.arguments.count == 2
        {
            let call = text(node).dropFirst(3)
            exchange("bound", node, by: (name == "min" ? "max" : "min") + call)
        }
        return .visitChildren
    }

    override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        let digits = node.literal.text.replacing("_", with: "")
        let (number, radix) =
            switch digits.prefix(2) {
            case "0x": (digits.dropFirst(2), 16)
            case "0b": (digits.dropFirst(2), 2)
            case "0o": (digits.dropFirst(2), 8)
            default: (digits[...], 10)
            }
        guard let value = Int(number, radix: radix) else { return .skipChildren }
        // The largest of a type stays within it.
        exchange(
            "constant", node,
            by: String([0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF].contains(value) ? value - 1 : value + 1))
        return .skipChildren
    }

    override func visit(_ node: FloatLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        exchange("constant", node, by: "\(text(node)) * 2 + 1")
        return .skipChildren
    }

    override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        exchange("constant", node, by: text(node) == "true" ? "false" : "true")
        return .skipChildren
    }

    // MARK: - Statements

    override func visit(_ node: ConditionElementSyntax) -> SyntaxVisitorContinueKind {
        // A comparison is turned as such.
        if case .expression(let condition) = node.condition {
            let condition = inner(condition)
            let symbol = condition.as(InfixOperatorExprSyntax.self)?.operator.as(BinaryOperatorExprSyntax.self)?
                .operator.text
            if !condition.is(BooleanLiteralExprSyntax.self), symbol.map({ Self.opposites[$0] == nil }) ?? true {
                negate("condition", condition, became: "!(\(text(condition)))")
            }
        }
        return .visitChildren
    }

    override func visit(_ node: GuardStmtSyntax) -> SyntaxVisitorContinueKind {
        let conditions = node.conditions.compactMap { element -> ExprSyntax? in
            if case .expression(let condition) = element.condition { inner(condition) } else { nil }
        }
        if !conditions.isEmpty {
            let binds = conditions.count < node.conditions.count
            add(
                "guard", node, was: "guard " + conditions.map(text).joined(separator: ", "),
                became: binds ? "the bindings alone" : "no guard",
                conditions.map { (Syntax($0), "(Mutant.isOn(@) ? true : (\(text($0))))") })
        }
        return .visitChildren
    }

    override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
        guard isDroppable(node) else { return .visitChildren }
        add(
            "statement", node, was: text(node.item), became: "nothing",
            [(Syntax(node.item), "if !Mutant.isOn(@) { \(text(node.item)) }")])
        return .visitChildren
    }

    private func isDroppable(_ node: CodeBlockItemSyntax) -> Bool {
        guard let items = node.parent?.as(CodeBlockItemListSyntax.self), let owner = items.parent else { return false }
        switch node.item {
        case .stmt(let statement):
            // What leaves early; a guard must leave, and so must the end of a function.
            let leaves =
                statement.is(ThrowStmtSyntax.self) || statement.is(ContinueStmtSyntax.self)
                || statement.is(ReturnStmtSyntax.self)
            return leaves && owner.parent?.is(IfExprSyntax.self) == true
        case .expr(let expression):
            let expression = inner(expression)
            if let infix = expression.as(InfixOperatorExprSyntax.self) {
                // Without what an initializer assigns, it does not compile.
                if infix.operator.is(AssignmentExprSyntax.self) { return !isInInitializer(Syntax(node)) }
                return text(infix.operator).hasSuffix("=") && Self.opposites[text(infix.operator)] == nil
            }
            guard let call = expression.as(FunctionCallExprSyntax.self) else { return false }
            let name =
                call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text
                ?? call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? ""
            return !Self.assertions.contains(name) && !(items.count == 1 && isValue(owner))
        default:
            return false
        }
    }

    private func isInInitializer(_ node: Syntax) -> Bool {
        var ancestor = node.parent
        while let current = ancestor, !current.is(FunctionDeclSyntax.self) {
            if current.is(InitializerDeclSyntax.self) { return true }
            ancestor = current.parent
        }
        return false
    }

    /// Whether the only expression of a block is what it gives.
    private func isValue(_ owner: Syntax) -> Bool {
        if owner.is(ClosureExprSyntax.self) || owner.is(AccessorBlockSyntax.self) || owner.is(SwitchCaseSyntax.self) {
            return true
        }
        guard let parent = owner.parent else { return true }
        return if let function = parent.as(FunctionDeclSyntax.self) {
            function.signature.returnClause != nil
        } else {
            parent.is(AccessorDeclSyntax.self)
        }
    }

    override func visit(_ node: ReturnStmtSyntax) -> SyntaxVisitorContinueKind {
        if let expression = node.expression, let type = resultType(of: Syntax(node)) { replaceResult(expression, type) }
        return .visitChildren
    }

    // A function or a property that is one expression gives it.
    override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
        if let body = node.body, let only = onlyExpression(body.statements),
            let type = node.signature.returnClause?.type
        {
            replaceResult(only, text(type))
        }
        return .visitChildren
    }

    override func visit(_ node: PatternBindingSyntax) -> SyntaxVisitorContinueKind {
        if case .getter(let items)? = node.accessorBlock?.accessors, let only = onlyExpression(items),
            let type = node.typeAnnotation?.type
        {
            replaceResult(only, text(type))
        }
        return .visitChildren
    }

    private func onlyExpression(_ items: CodeBlockItemListSyntax) -> ExprSyntax? {
        guard items.count == 1, case .expr(let expression)? = items.first?.item else { return nil }
        return expression
    }

    private func resultType(of node: Syntax) -> String? {
        var ancestor = node.parent
        while let current = ancestor {
            if let function = current.as(FunctionDeclSyntax.self) {
                return function.signature.returnClause.map { text($0.type) }
            }
            if let binding = current.as(PatternBindingSyntax.self), binding.accessorBlock != nil {
                return binding.typeAnnotation.map { text($0.type) }
            }
            if current.is(ClosureExprSyntax.self) || current.is(InitializerDeclSyntax.self)
                || current.is(SubscriptDeclSyntax.self)
            {
                return nil
            }
            ancestor = current.parent
        }
        return nil
    }

    private func replaceResult(_ expression: ExprSyntax, _ type: String) {
        let result = inner(expression)
        if result.is(IfExprSyntax.self) || result.is(SwitchExprSyntax.self) || result.is(BooleanLiteralExprSyntax.self)
            || result.is(NilLiteralExprSyntax.self) || result.is(IntegerLiteralExprSyntax.self)
        {
            return
        }
        let other: String
        if type.hasSuffix("?") {
            other = "nil"
        } else if type == "Bool" {
            // A comparison is turned as such.
            if let infix = result.as(InfixOperatorExprSyntax.self), Self.opposites[text(infix.operator)] != nil {
                return
            }
            other = "!(\(text(result)))"
        } else if ["Int", "Int64", "Int32", "UInt8", "UInt16", "UInt32", "UInt64", "Double"].contains(type) {
            other = "(\(text(result))) + 1"
        } else if type == "String" {
            other = "\"\""
        } else if type.hasPrefix("[") {
            other = type.contains(":") ? "[:]" : "[]"
        } else {
            return
        }
        if text(result) != other { exchange("result", result, by: other) }
    }

    // MARK: - What is not mutated

    /// Only what is compiled on Linux.
    override func visit(_ node: IfConfigDeclSyntax) -> SyntaxVisitorContinueKind {
        for clause in node.clauses {
            let condition = clause.condition.map(text)
            if condition.map({ ["os(Linux)", "canImport(Glibc)", "canImport(FoundationNetworking)"].contains($0) })
                ?? true
            {
                if let elements = clause.elements { walk(elements) }
                break
            }
            // Whether it holds is not known here.
            if condition?.hasPrefix("os(") == false && condition?.hasPrefix("canImport(") == false { break }
        }
        return .skipChildren
    }

    override func visit(_: AttributeListSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: EnumCaseDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: ImportDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
}

let encoder = JSONEncoder()
encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
for file in CommandLine.arguments.dropFirst() {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let parsed = OperatorTable.standardOperators.foldAll(Parser.parse(source: text), errorHandler: { _ in })
    guard let tree = parsed.as(SourceFileSyntax.self) else { continue }
    let finder = Finder(file: file, text: text, tree: tree)
    finder.walk(tree)
    for site in finder.sites { print(String(decoding: try encoder.encode(site), as: UTF8.self)) }
}
