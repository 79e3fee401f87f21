import CloakroomJSON

/// The settings file as a value tree.
enum SettingsTree {
    /// - Throws: one fault for the file as a whole: what cannot be read has no keys to find faults in.
    static func root(of text: [UInt8]) throws(SettingsError) -> JSON.Object {
        let json: JSON
        do throws(JSONError) {
            json = try JSON(parsingJSON5: text)
        } catch {
            throw fault(error, in: text)
        }
        guard let root = json.object else {
            throw SettingsError("", "the file holds no object", "begin it with { and end it with }")
        }
        return root
    }

    private static func fault(_ error: JSONError, in text: [UInt8]) -> SettingsError {
        switch error {
        case .malformed(let offset):
            SettingsError(
                "", "\(position(offset, in: text)): this is not JSON5", "look there, or at the end of the line before")
        case .duplicateName(let offset):
            SettingsError(
                "", "\(position(offset, in: text)): this key stands here a second time", "keep one of the two")
        case .tooDeep: SettingsError("", "the file nests deeper than any setting", "look for a bracket too many")
        case .notUnicode: SettingsError("", "the file is not UTF-8", "save it as UTF-8")
        case .outOfRange: SettingsError("", "a number is beyond all range", "give a finite number")
        }
    }

    /// Lines and columns count from 1, columns in bytes.
    private static func position(_ offset: Int, in text: [UInt8]) -> String {
        let before = text[..<min(offset, text.count)]
        let line = before.count { $0 == 0x0A } + 1
        let column = before.count - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
        return "line \(line), column \(column)"
    }
}
