import CloakroomCCurl

/// What libcurl says of itself and of the libraries that it uses: `libcurl/7.88.1 OpenSSL/3.0.17 zlib/1.2.13 …`.
///
/// Source: libcurl's manual, `curl_version(3)`.
package enum CurlVersion {
    package static var text: String { unsafe String(cString: curl_version()) }
}
