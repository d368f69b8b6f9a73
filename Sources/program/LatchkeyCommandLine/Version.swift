internal import CLatchkeyBuild

/// The version: that of the next release, or in its commit of the release itself.
///
/// It stands here only. The clients' packages get it from `scripts/version`, and openapi.yaml from
/// `make docs`.
package let latchkeyVersion = "0.2.0"

/// The minute and the commit of the build, such as `202601312359.0123abcd`; empty if it was built
/// without giving it, as the Makefile does.
///
/// A suffix says that it is the commit of a release, or that the files differed from the commit.
package let latchkeyBuild = unsafe String(cString: latchkey_build_commit())

/// The version of a release, or that and the build: `0.2.0~202601312359.0123abcd`.
package let latchkeyFullVersion = fullVersion(latchkeyVersion, build: latchkeyBuild)

/// The version of a release; otherwise with a tilde and the build, which dpkg sorts below it.
func fullVersion(_ version: String, build: String) -> String {
    build.isEmpty || build.hasSuffix(".release") ? version : version + "~" + build
}
