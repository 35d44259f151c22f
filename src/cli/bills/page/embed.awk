# SPDX-License-Identifier: GPL-2.0-or-later
# Prints report.html, with report.css in it, as a string constant of C: awk -f embed.awk report.css report.html

function put(text)
{
	gsub(/["\\]/, "\\\\&", text)
	printf "\t\"%s\"\n", text
}

BEGIN {
	print "/* SPDX-License-Identifier: GPL-2.0-or-later */"
	print "/* The page of \"poppa report\", made by embed.awk from report.html and report.css. */"
	print "/* clang-format off */"
	print "#include \"cli/bills/report.h\"\n\nconst char report_page_template[] ="
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
/^@import report.css$/ {
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
