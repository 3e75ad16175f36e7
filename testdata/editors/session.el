;;; A session of Emacs without a screen:
;;
;;     emacs --batch -l CONFIGURATION -l session.el
;;
;; CONFIGURATION is what the page of editors says to write. STARLING is the program, OUT the file in
;; which it writes one line for each thing that it asks for.

(require 'eglot)
(require 'cl-lib)

(defvar starling-out nil "What is told so far, the newest first.")

(defun starling-tell (what value)
  (push (format "%s: %s\n" what (if (stringp value) value (if value "true" "false"))) starling-out))

(defun starling-wait (ready)
  "Wait until READY gives something, which is given."
  (let ((end (+ (float-time) 20)) found)
    (while (and (not (setq found (funcall ready))) (< (float-time) end))
      (accept-process-output nil 0.05))
    found))

(defun starling-behind (text)
  (goto-char (point-min))
  (search-forward text))

(defun starling-diagnostics ()
  (eglot--signal-textDocument/didChange)
  (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))

(defun starling-action (title)
  "Make the edit of the code action at point whose title is TITLE."
  (let ((action (cl-find title (eglot-code-actions (point) (point)) :key (lambda (a) (plist-get a :title)) :test #'equal)))
    (eglot--apply-workspace-edit (plist-get action :edit))))

(condition-case why
    (let ((eglot-sync-connect 20) (eglot-autoshutdown nil) (enable-local-variables nil))
      (setcdr (assq 'starling-mode eglot-server-programs) (list (getenv "STARLING") "lsp"))
      (find-file "review.star")
      (starling-tell "mode" (symbol-name major-mode))
      (apply #'eglot (eglot--guess-contact))
      (starling-tell "attached" (and (eglot-managed-p) t))

      (flymake-mode 1)
      (starling-behind "if d.choice")
      (delete-char -6)
      (insert "chioce")
      (starling-tell "diagnostic"
                     (starling-wait (lambda () (car (split-string (or (car (starling-diagnostics)) "") "\n" t)))))
      (starling-action "Write choice")
      (starling-tell "mended" (and (starling-wait (lambda () (null (starling-diagnostics))))
                                   (save-excursion (goto-char (point-min)) (search-forward "if d.choice" nil t) t)))

      (starling-behind "if d.")
      (let* ((found (eglot-completion-at-point)) (table (nth 2 found)))
        (starling-tell "completion" (and (member "choice" (all-completions "" table)) t)))

      (starling-behind "prompt = sho")
      (let ((said (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))))
        (starling-tell "hover" (and (string-match-p "Say it louder" (eglot--hover-info (plist-get said :contents) (plist-get said :range))) t)))

      (let ((found (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot))))
        (starling-tell "definition" (file-name-nondirectory (xref-location-group (xref-item-location (car found))))))

      (starling-behind "    d")
      (eglot-rename "decided")
      (starling-tell "renamed" (and (save-excursion (starling-behind "if decided.choice")) t))

      (goto-char (point-min))
      (insert "x=1\n")
      (eglot-format-buffer)
      (goto-char (point-min))
      (starling-tell "laid out" (buffer-substring (line-beginning-position) (line-end-position)))
      (eglot-shutdown (eglot-current-server) nil 20)
      (starling-tell "left" t))
  (error (starling-tell "error" (format "%S" why))))

(with-temp-file (getenv "OUT")
  (dolist (line (reverse starling-out))
    (insert line)))
