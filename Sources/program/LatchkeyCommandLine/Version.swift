internal import CLatchkeyBuild

/// The version: that of the next release, or in its commit of the release itself.
///
/// It stands here only. The clients' packages get it from `scripts/version`, and openapi.yaml from
/// `make docs`.
package let latchkeyVersion = "0.2.0"

/// The minute and the commit of the build, such as `202601312359.0123abcd`; empty if whoever built
/// it has not said it, as the Makefile does.
///
/// A suffix says that it is the commit of a release, or that the files differed from the commit.
package let latchkeyBuild = unsafe String(cString: latchkey_build_commit())

/// The version of a release, or that and the build: `0.2.0~202601312359.0123abcd`.
package let latchkeyFullVersion = fullVersion(latchkeyVersion, build: latchkeyBuild)

/// The day of the build as `2026-01-31`; empty if it is not known.
package let latchkeyBuildDay = day(of: latchkeyBuild)

/// The version of a release; otherwise with a tilde and the build, which dpkg sorts below it.
func fullVersion(_ version: String, build: String) -> String {
    build.isEmpty || build.hasSuffix(".release") ? version : version + "~" + build
}

/// The day that a build begins with; empty if it does not begin with a minute.
func day(of build: String) -> String {
    let digits = build.prefix { $0.isASCII && $0.isNumber }
    guard digits.count == 12 else { return "" }
    return "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.dropFirst(6).prefix(2))"
}
