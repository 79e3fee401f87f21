import CloakroomKit
import CloakroomWire
import Foundation

/// A request, taken apart.
struct ServerCall {
    enum Site { case worker, s3, assets }

    let request: HTTPRequest
    let body: Data
    let site: Site
    let operation: TestOperation
    let route: String
    let key: String?
    /// In place of a route's `{id}`.
    let id: String?
    let query: [String: String]
    /// By names in lower case.
    let fields: [String: String]

    /// - Returns: `nil` for another host than the server's three.
    init?(_ request: HTTPRequest, _ body: Data, bucket: String) {
        self.request = request
        self.body = body
        var query: [String: String] = [:]
        for item in URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? [] {
            query[item.name] = item.value ?? ""
        }
        self.query = query
        var fields: [String: String] = [:]
        for field in request.fields { fields[field.name.lowercased()] = field.value }
        self.fields = fields
        var path = request.url.path
        var host = request.url.host
        // The bucket is a part of the host, or of the path.
        if host == "\(bucket).s3.cloakroom.test" {
            host = "s3.cloakroom.test"
            path = "/\(bucket)\(path)"
        }
        switch host {
        case "worker.cloakroom.test":
            site = .worker
            let found = WorkerRoute(request.method, path)
            (route, id, key) = (found?.route.rawValue ?? path, found?.id, nil)
            operation = found.map { $0.operation(hasToken: body.isEmpty || fields["authorization"] != nil) } ?? .unknown
        case "s3.cloakroom.test":
            (site, route, id) = (.s3, path, nil)
            guard path == "/\(bucket)" || path.hasPrefix("/\(bucket)/") else {
                (operation, key) = (.unknown, nil)
                return
            }
            let name = String(path.dropFirst(bucket.utf8.count + 2))
            key = name.isEmpty ? query["prefix"] ?? "" : name
            operation = Self.s3Operation(request.method, isBucket: name.isEmpty, query, fields)
        case "cdn.cloakroom.test":
            (site, route, id) = (.assets, path, nil)
            operation = ["GET", "HEAD"].contains(request.method) ? .readAsset : .unknown
            key = String(path.dropFirst())
        default: return nil
        }
    }

    private static func s3Operation(
        _ method: String, isBucket: Bool, _ query: [String: String], _ fields: [String: String]
    ) -> TestOperation {
        let hasUpload = query["uploadId"] != nil
        switch method {
        case "GET" where isBucket: return query["list-type"] == "2" ? .listObjects : .unknown
        case _ where isBucket: return .unknown
        case "GET": return hasUpload ? .listParts : query["tagging"] == nil ? .getObject : .unknown
        case "HEAD": return .headObject
        case "PUT" where fields["x-amz-copy-source"] != nil || query["tagging"] != nil: return .unknown
        case "PUT": return hasUpload ? .uploadPart : .putObject
        case "POST" where hasUpload: return .completeMultipartUpload
        case "POST": return query["uploads"] != nil ? .createMultipartUpload : .unknown
        case "DELETE": return hasUpload ? .abortMultipartUpload : .deleteObject
        default: return .unknown
        }
    }

    /// Whose signature it has; `nil` for none.
    var accessKeyID: String? {
        let credential =
            query["X-Amz-Credential"]
            ?? fields["authorization"]?.firstMatch(of: /^AWS4-HMAC-SHA256 Credential=([^,]+), ?/).map { String($0.1) }
        return credential?.split(separator: "/").first.map(String.init)
    }
}

/// A route of the worker's, as it was called.
private struct WorkerRoute {
    let route: Route
    let id: String?

    init?(_ method: String, _ path: String) {
        for route in Route.allCases where route.method == method {
            let parts = route.rawValue.components(separatedBy: "{id}")
            if parts.count == 1, path == route.rawValue {
                (self.route, id) = (route, nil)
                return
            }
            guard parts.count == 2, path.hasPrefix(parts[0]), path.hasSuffix(parts[1]) else { continue }
            let found = path.dropFirst(parts[0].count).dropLast(parts[1].count)
            guard !found.isEmpty, !found.contains("/") else { continue }
            (self.route, id) = (route, String(found))
            return
        }
        return nil
    }

    func operation(hasToken: Bool) -> TestOperation {
        switch route {
        case .stsToken: .vendCredentials
        case .session: hasToken ? .continueSession : .signIn
        case .presignedUpload: .requestUpload
        case .multipartUploads: .beginAssetUpload
        case .multipartParts: .requestAssetParts
        case .multipartCompletion: .completeAssetUpload
        case .multipartUpload: .abortAssetUpload
        case .renewBatch, .renewOne: .renewAssets
        case .releaseBatch: .releaseImages
        case .sessionKeys, .appleNotifications, .containerCredentials, .webIdentity, .presignedPost, .health,
            .readiness, .metrics,
            .status, .companionForm, .companionUploads, .companionUpload, .companionBatch, .companionCompletion,
            .companionPart, .companionCredentials:
            .unknown
        }
    }
}
