import CloakroomAWS
import CloakroomJSON

extension Settings {
    /// Reads a JSON5 file; finds all faults before it gives up.
    ///
    /// - Parameter file: where the settings are; relative paths in them start in its folder. Under systemd the unit's
    ///   credentials go before it: `LoadCredential=secrets:FOLDER` provides `secrets/token` as `secrets_token`
    ///   (systemd.exec(5), "Credentials").
    /// - Parameter readFile: the bytes of a file, `nil` when it cannot be read.
    package static func load(
        file: String, environment: [String: String], readFile: @escaping (String) -> [UInt8]?
    ) throws(SettingsErrors) -> Settings {
        guard let text = readFile(file) else {
            throw SettingsErrors(faults: [
                SettingsError("", "the file \(file) cannot be read", "name a file that the worker may read")
            ])
        }
        let tree: JSON.Object
        do { tree = try SettingsTree.root(of: text) } catch { throw SettingsErrors(faults: [error]) }
        let folder = file.lastIndex(of: "/").map { file[...$0] } ?? ""
        return try load(tree, environment: environment) { name in
            guard !name.hasPrefix("/") else { return readFile(name) }
            let provided = environment["CREDENTIALS_DIRECTORY"].flatMap {
                readFile("\($0)/\(name.replacing("/", with: "_"))")
            }
            return provided ?? readFile(folder + name)
        }
    }

    /// - Parameter onRead: called with the path of each key whose value is read.
    static func load(
        _ tree: JSON.Object, environment: [String: String], readFile: @escaping (String) -> [UInt8]?,
        onRead: ((String) -> Void)? = nil
    ) throws(SettingsErrors) -> Settings {
        var reader = SettingsReader(environment: environment, readFile: readFile)
        reader.onRead = onRead
        let values = SettingsValues(SettingsTable.keys, reader.read(SettingsTable.rows, from: tree))
        let check = SettingsCheck(values: values)
        let identity = IdentitySettings(values: values).read()
        var faults = reader.faults + check.faults + identity.faults
        var access: AWSAccess?
        var roles: SessionRoles?
        do throws(SettingsError) {
            access = try AWSAccessReader(
                values: values, environment: AWSEnvironment(environment), readFile: readFile
            ).access()
            if access?.sendsSessionToken == true { faults += check.chainedLifetimeFaults }
            if let access { roles = try RoleSettings(values: values, access: access).roles() }
        } catch {
            faults.append(error)
        }
        guard faults.isEmpty, let access, let roles else { throw SettingsErrors(faults: faults) }
        guard case .success(let scopes?) = check.scopes, let scope = scopes[values.vending.scope] else {
            preconditionFailure("the check lets through a scope that is none")
        }
        return Settings(values, aws: access, issuers: identity.issuers, roles: roles, scopes: scopes, scope: scope)
    }
}
