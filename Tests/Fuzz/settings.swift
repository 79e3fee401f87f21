@testable import CloakroomServer

/// Whatever stands in a settings file is read, or refused with what is wrong.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    do throws(SettingsErrors) {
        _ = try Settings.load(file: "s", environment: ["SECRET": "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"]) {
            $0 == "s" ? bytes : nil
        }
    } catch {
        precondition(!error.faults.isEmpty)
    }
    return 0
}
