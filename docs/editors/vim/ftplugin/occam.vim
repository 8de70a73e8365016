setlocal expandtab shiftwidth=2 softtabstop=2 autoindent commentstring=--\ %s comments=:--
