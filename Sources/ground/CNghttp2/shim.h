// nghttp2 as Debian packages it (libnghttp2-dev): HTTP/2.
#include <nghttp2/nghttp2.h>
