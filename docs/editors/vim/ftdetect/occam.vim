autocmd BufRead,BufNewFile *.occ,*.inc,*.module setfiletype occam
