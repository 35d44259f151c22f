# SPDX-License-Identifier: GPL-2.0-or-later
# Prints a page, with the style in it, as a string constant of C, which HEADER declares:
#   awk -f embed.awk -v header=HEADER -v constant=NAME page.css PAGE.html

function put(text)
{
	gsub(/["\\]/, "\\\\&", text)
	printf "\t\"%s\"\n", text
}

BEGIN {
	print "/* SPDX-License-Identifier: GPL-2.0-or-later */"
	print "/* A page of HTML with its style, made by embed.awk from two files. */"
	print "/* clang-format off */"
	printf "#include \"%s\"\n\nconst char %s[] =\n", header, constant
}
{
	gsub(/^[ \t]+|[ \t\r]+$/, "")
}
# Comments, a line each, and empty lines stay here.
/^\/\*.*\*\/$/ || /^<!-- .*-->$/ || $0 == "" {
	next
}
FILENAME ~ /\.css$/ {
	gsub(/ *[{] */, "{")
	gsub(/ *[}] */, "}")
	gsub(/; */, ";")
	gsub(/: +/, ":")
	gsub(/, +/, ",")
	style = style $0
	next
}
/^@import page.css$/ {
	gsub(/;[}]/, "}", style)
	put(style)
	next
}
# A tag that has a line to itself leaves no empty line.
/^[{][{][#^\/][^}]*[}][}]$/ {
	put($0)
	next
}
{
	gsub(/["\\]/, "\\\\&")
	printf "\t\"%s\\n\"\n", $0
}
END {
	print "\t\"\";"
}
