# bash completion for bellwether: the program itself knows what may follow.
complete -o default -o bashdefault -C @PROGRAM@ bellwether
