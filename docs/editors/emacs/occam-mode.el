;;; occam-mode.el --- occam-pi, with raddle  -*- lexical-binding: t; -*-

;; The words are those of raddle's scanner.  `M-x eglot' asks `raddle lsp'.

;;; Code:

(defconst occam-mode-types
  '(
    "ANY" "BARRIER" "BOOL" "BYTE" "CHAN" "INT" "INT16" "INT32" "INT64" "PORT" "REAL32" "REAL64"
    "TIMER" "UINT" "UINT16" "UINT32" "UINT64" "UINT8"))

(defconst occam-mode-constants
  '(
    "FALSE" "MOSTNEG" "MOSTPOS" "TRUE"))

(defconst occam-mode-words
  '(
    "AFTER" "ALT" "AND" "ASM" "AT" "BITAND" "BITNOT" "BITOR" "BYTESIN" "CASE" "CLAIM" "CLONE"
    "DATA" "DEFINED" "ELSE" "ENROLL" "EXTENDS" "FOR" "FORK" "FORKING" "FROM" "FUNCTION" "GUY" "IF"
    "IN" "INITIAL" "INLINE" "IS" "MINUS" "MOBILE" "NOT" "OF" "OFFSETOF" "OR" "PACKED" "PAR" "PLACE"
    "PLACED" "PLUS" "PRI" "PROC" "PROCESSOR" "PROTOCOL" "REC" "RECORD" "RECURSIVE" "REM" "RESHAPES"
    "RESIGN" "RESULT" "RETYPES" "ROUND" "SEQ" "SHARED" "SIZE" "SKIP" "STEP" "STOP" "SUSPEND" "SYNC"
    "TIMES" "TRUNC" "TYPE" "VAL" "VALOF" "VECSPACE" "WHILE" "WORKSPACE"))

(defvar occam-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?- ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?* "\\" table)
    (modify-syntax-entry ?\\ "." table)
    (modify-syntax-entry ?. "_" table)
    (modify-syntax-entry ?\" "\"" table)
    table))

(defvar occam-mode-font-lock
  `(("^\\s-*#[A-Z]+" . font-lock-preprocessor-face)
    ("\\_<\\(?:PROC\\|FUNCTION\\)\\s-+\\([A-Za-z][A-Za-z0-9.]*\\)" 1 font-lock-function-name-face)
    (,(regexp-opt occam-mode-types 'symbols) . font-lock-type-face)
    (,(regexp-opt occam-mode-constants 'symbols) . font-lock-constant-face)
    (,(regexp-opt occam-mode-words 'symbols) . font-lock-keyword-face)))

;;;###autoload
(define-derived-mode occam-mode prog-mode "occam"
  "Programs in occam-pi."
  :syntax-table occam-mode-syntax-table
  (setq-local font-lock-defaults '(occam-mode-font-lock))
  (setq-local comment-start "-- ")
  (setq-local comment-end "")
  (setq-local indent-tabs-mode nil)
  (setq-local indent-line-function #'indent-relative-first-indent-point)
  (setq-local tab-width 8)
  (setq-local standard-indent 2))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.\\(?:occ\\|inc\\|module\\)\\'" . occam-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(occam-mode . ("raddle" "lsp"))))

(provide 'occam-mode)
;;; occam-mode.el ends here
