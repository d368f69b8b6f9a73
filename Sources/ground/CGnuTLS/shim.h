// GnuTLS as Debian packages it (libgnutls28-dev): hashes and TLS.
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
