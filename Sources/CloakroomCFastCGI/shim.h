#pragma once
#include <fcgiapp.h>
#include <fastcgi.h>
