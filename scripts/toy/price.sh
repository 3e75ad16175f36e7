# Prices in cents.

# total PRICE COUNT REBATE
total() {
    if [ "$2" -eq 0 ]; then
        echo 0
    else
        echo $(( $1 * $2 + $3 ))
    fi
}
