internal import CLatchkeyBuild

/// The version of the package.
package let latchkeyVersion = "0.1.0"

/// The minute and the commit of the build, such as `202601312359.0123abcd`; empty if whoever built
/// it has not said it, as the Makefile does.
package let latchkeyBuild = unsafe String(cString: latchkey_build_commit())

/// The version and the build: `0.1.0~202601312359.0123abcd`.
///
/// A build is of the time before its release: for dpkg, a tilde sorts it below the release.
package let latchkeyFullVersion =
    latchkeyVersion + (latchkeyBuild.isEmpty ? "" : "~" + latchkeyBuild)

/// The day of the build as `2026-01-31`; empty if it is not known.
package let latchkeyBuildDay = day(of: latchkeyBuild)

/// The day that a build begins with; empty if it does not begin with a minute.
func day(of build: String) -> String {
    let digits = build.prefix { $0.isASCII && $0.isNumber }
    guard digits.count == 12 else { return "" }
    return "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.dropFirst(6).prefix(2))"
}
