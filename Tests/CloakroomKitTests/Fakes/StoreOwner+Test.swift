import CloakroomKit
import Foundation

extension StoreOwner {
    static let test = StoreOwner(user: "u_1", endpoint: URL(string: "https://api.example")!)
    /// Who signs in next on the same device.
    static let next = StoreOwner(user: "u_2", endpoint: URL(string: "https://api.example")!)
}
