// YAJL as Debian packages it (libyajl-dev): the JSON parser that LatchkeyStore checks values with.
#include <yajl/yajl_parse.h>
