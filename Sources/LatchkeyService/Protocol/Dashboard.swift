internal import Foundation
internal import LatchkeyStrategies

/// The page at `/`: one file, style sheet and scripts included, which loads nothing from anywhere.
///
/// Browsers run and apply only what has one of the hashes in the policy. So a text from a client
/// cannot become a script, even if the page had a mistake. The sources are in `Dashboard/`.
struct Dashboard: Sendable {
    let html: [UInt8]
    /// The value of the header field `Content-Security-Policy`.
    let policy: String

    init(version: String, strategy: StrategyKind) {
        // In the order of use. All share one scope.
        let script = Self.text(
            PackageResources.elements_js,
            PackageResources.charts_js,
            PackageResources.contention_js,
            PackageResources.property_js,
            PackageResources.list_js,
            PackageResources.editor_js,
            PackageResources.operations_js,
            PackageResources.parts_js
        )
        let style = Self.text(PackageResources.style_css)
        html = Array(
            Self.text(PackageResources.dashboard_html)
                .replacing("{version}", with: version)
                .replacing("{strategy}", with: strategy.rawValue)
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

    private static func text(_ files: [UInt8]...) -> String {
        String(decoding: files.joined(), as: UTF8.self)
    }

    private static func hash(_ text: String) -> String {
        "'sha256-\(Data(SHA256.digest(Array(text.utf8))).base64EncodedString())'"
    }
}
