internal import CLatchkeyPages
internal import Foundation
internal import LatchkeyFrame

/// The page at `/`: one file, style sheet and scripts included, which loads nothing from anywhere.
///
/// Browsers run and apply only texts with one of the hashes in the policy. So a text from a client
/// cannot become a script, even if the page had a mistake. The sources are in `CLatchkeyPages`.
struct Dashboard: Sendable {
    let html: [UInt8]
    /// The value of the header field `Content-Security-Policy`.
    let policy: String

    init(version: String) {
        // All scripts share one scope.
        let script = unsafe latchkey_pages_dashboard_script().text
        let style = unsafe latchkey_pages_dashboard_style().text
        html = Array(
            unsafe latchkey_pages_dashboard().text
                .replacing("{version}", with: version)
                .replacing("{style}", with: style)
                .replacing("{script}", with: script)
                .utf8
        )
        policy = [
            "default-src 'none'", "connect-src 'self'", "img-src data:",
            "script-src \(Self.hash(script))", "style-src \(Self.hash(style))",
            "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ].joined(separator: "; ")
    }

    private static func hash(_ text: String) -> String {
        "'sha256-\(Data(SHA256.digest(Array(text.utf8)).bytes).base64EncodedString())'"
    }
}

extension latchkey_pages_bytes {
    /// SAFETY: the bytes live as long as the program, and do not change.
    var bytes: [UInt8] { unsafe Array(UnsafeBufferPointer(start: start, count: count)) }

    fileprivate var text: String { unsafe String(decoding: bytes, as: UTF8.self) }
}
