// Its headers are all that is wanted of it; see CMakeLists.txt.
